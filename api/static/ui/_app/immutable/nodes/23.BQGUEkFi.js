import{_ as m}from"../chunks/DR3bMsqo.js";export{m as component};
