import{_ as m}from"../chunks/Bgszmmaw.js";export{m as component};
