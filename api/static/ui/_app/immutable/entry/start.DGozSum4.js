import{aO as o,aP as r}from"../chunks/DI-5rNUW.js";export{o as load_css,r as start};
