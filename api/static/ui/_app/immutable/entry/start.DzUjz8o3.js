import{aY as o,aZ as r}from"../chunks/CRJhwZCq.js";export{o as load_css,r as start};
