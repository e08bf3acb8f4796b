import{aO as o,aP as r}from"../chunks/C8NJDefN.js";export{o as load_css,r as start};
