import{_ as m}from"../chunks/C-MSykDq.js";export{m as component};
