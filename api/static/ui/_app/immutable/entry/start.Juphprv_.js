import{aX as o,aY as r}from"../chunks/Azul5RoY.js";export{o as load_css,r as start};
