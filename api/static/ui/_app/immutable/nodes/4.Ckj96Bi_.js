import{a as e}from"../chunks/DvYvc5vT.js";export{e as component};
