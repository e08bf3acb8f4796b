import{_ as m}from"../chunks/D2FOehVb.js";export{m as component};
