import{aK as o,aL as r}from"../chunks/DZ85xHks.js";export{o as load_css,r as start};
