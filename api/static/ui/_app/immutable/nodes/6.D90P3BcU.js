import{_ as m}from"../chunks/DFrHCXq5.js";export{m as component};
