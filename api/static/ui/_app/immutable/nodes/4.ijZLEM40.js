import{a as e}from"../chunks/BiAUQa-5.js";export{e as component};
