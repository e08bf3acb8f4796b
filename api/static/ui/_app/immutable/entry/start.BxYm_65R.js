import{aY as o,aZ as r}from"../chunks/DsNy_nqN.js";export{o as load_css,r as start};
