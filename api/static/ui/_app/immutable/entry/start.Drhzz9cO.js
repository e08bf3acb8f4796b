import{aO as o,aP as r}from"../chunks/CYjo-_dS.js";export{o as load_css,r as start};
