import{_ as m}from"../chunks/fxfAaJc5.js";export{m as component};
