import{_ as m}from"../chunks/ups83yOc.js";export{m as component};
