import{_ as m}from"../chunks/rGqqzxtc.js";export{m as component};
