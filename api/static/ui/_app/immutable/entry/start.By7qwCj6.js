import{aO as o,aP as r}from"../chunks/B-ekreT2.js";export{o as load_css,r as start};
