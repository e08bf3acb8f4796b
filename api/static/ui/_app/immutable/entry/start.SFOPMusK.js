import{aX as o,aY as r}from"../chunks/DDwJclB_.js";export{o as load_css,r as start};
