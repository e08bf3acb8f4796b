import{_ as m}from"../chunks/Bdbhmr3V.js";export{m as component};
