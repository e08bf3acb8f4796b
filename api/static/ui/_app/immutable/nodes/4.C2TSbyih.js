import{a as e}from"../chunks/DR3bMsqo.js";export{e as component};
