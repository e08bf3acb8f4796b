import{aO as o,aP as r}from"../chunks/f3y-NErc.js";export{o as load_css,r as start};
