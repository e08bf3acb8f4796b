import{_ as m}from"../chunks/D1mw-gWf.js";export{m as component};
