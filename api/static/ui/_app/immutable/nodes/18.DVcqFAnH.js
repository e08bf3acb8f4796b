import{_ as m}from"../chunks/DpDfr50y.js";export{m as component};
