import{a as e}from"../chunks/D1Mp1HnV.js";export{e as component};
