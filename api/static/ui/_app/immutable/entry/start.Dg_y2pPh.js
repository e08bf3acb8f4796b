import{aO as o,aP as r}from"../chunks/CbwdP7O7.js";export{o as load_css,r as start};
