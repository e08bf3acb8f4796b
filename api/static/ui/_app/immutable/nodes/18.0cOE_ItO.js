import{_ as m}from"../chunks/nDZwz5cF.js";export{m as component};
