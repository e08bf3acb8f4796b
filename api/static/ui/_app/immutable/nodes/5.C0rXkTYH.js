import{_ as m}from"../chunks/DGVLRrf8.js";export{m as component};
