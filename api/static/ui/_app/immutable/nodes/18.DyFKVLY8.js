import{_ as m}from"../chunks/B9F3hoLT.js";export{m as component};
