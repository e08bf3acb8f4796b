import{aO as o,aP as r}from"../chunks/C-QTO5rY.js";export{o as load_css,r as start};
