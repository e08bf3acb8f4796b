import{_ as m}from"../chunks/DvYvc5vT.js";export{m as component};
