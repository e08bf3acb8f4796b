import{_ as m}from"../chunks/BpTu0Kum.js";export{m as component};
