import{aO as o,aP as r}from"../chunks/BClq7Prk.js";export{o as load_css,r as start};
