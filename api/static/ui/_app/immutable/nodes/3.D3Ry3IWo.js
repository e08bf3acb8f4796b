import{a as e}from"../chunks/DpDfr50y.js";export{e as component};
