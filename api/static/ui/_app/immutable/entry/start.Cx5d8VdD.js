import{aO as o,aP as r}from"../chunks/CoqgauCi.js";export{o as load_css,r as start};
