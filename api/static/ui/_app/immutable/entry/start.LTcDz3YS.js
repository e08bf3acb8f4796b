import{aO as o,aP as r}from"../chunks/BFiQIghh.js";export{o as load_css,r as start};
