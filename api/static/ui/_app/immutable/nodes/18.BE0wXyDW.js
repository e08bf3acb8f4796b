import{_ as m}from"../chunks/DihRru7b.js";export{m as component};
