import{aO as o,aP as r}from"../chunks/YUvzc2xh.js";export{o as load_css,r as start};
