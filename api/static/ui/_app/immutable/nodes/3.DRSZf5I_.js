import{a as e}from"../chunks/B9F3hoLT.js";export{e as component};
