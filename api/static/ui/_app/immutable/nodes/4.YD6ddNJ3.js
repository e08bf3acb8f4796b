import{a as e}from"../chunks/ups83yOc.js";export{e as component};
