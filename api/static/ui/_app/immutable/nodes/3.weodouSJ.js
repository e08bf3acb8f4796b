import{a as e}from"../chunks/B7dw-xx7.js";export{e as component};
