import{_ as m}from"../chunks/DvcwLWnN.js";export{m as component};
