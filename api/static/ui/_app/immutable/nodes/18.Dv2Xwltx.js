import{_ as m}from"../chunks/D1Mp1HnV.js";export{m as component};
