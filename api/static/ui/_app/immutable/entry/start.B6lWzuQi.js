import{aY as o,aZ as r}from"../chunks/B_0WXez6.js";export{o as load_css,r as start};
