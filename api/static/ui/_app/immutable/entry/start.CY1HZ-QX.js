import{aO as o,aP as r}from"../chunks/W2TqARLd.js";export{o as load_css,r as start};
