import{aY as o,aZ as r}from"../chunks/BV4gNPJI.js";export{o as load_css,r as start};
