import{_ as m}from"../chunks/jvZNwTEi.js";export{m as component};
