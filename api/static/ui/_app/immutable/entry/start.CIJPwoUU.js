import{aK as o,aL as r}from"../chunks/CwZ_kI7P.js";export{o as load_css,r as start};
