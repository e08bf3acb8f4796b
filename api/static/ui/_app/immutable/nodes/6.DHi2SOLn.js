import{_ as m}from"../chunks/CYVf1-_n.js";export{m as component};
