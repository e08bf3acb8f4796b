import{aX as o,aY as r}from"../chunks/B6R8oDkb.js";export{o as load_css,r as start};
