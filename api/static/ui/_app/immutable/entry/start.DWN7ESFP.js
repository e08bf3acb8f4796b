import{aO as o,aP as r}from"../chunks/DBhlG394.js";export{o as load_css,r as start};
