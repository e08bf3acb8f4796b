import{aO as o,aP as r}from"../chunks/x7qeavXH.js";export{o as load_css,r as start};
