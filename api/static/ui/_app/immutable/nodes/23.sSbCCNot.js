import{_ as m}from"../chunks/av9JLwHT.js";export{m as component};
