import{aO as o,aP as r}from"../chunks/B4R99hG1.js";export{o as load_css,r as start};
