import{aJ as o,aK as r}from"../chunks/DIldK3Lp.js";export{o as load_css,r as start};
