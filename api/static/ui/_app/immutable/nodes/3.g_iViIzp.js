import{a as e}from"../chunks/jvZNwTEi.js";export{e as component};
