import{a as e}from"../chunks/nDZwz5cF.js";export{e as component};
