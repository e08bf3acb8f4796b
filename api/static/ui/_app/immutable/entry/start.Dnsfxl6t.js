import{aK as o,aL as r}from"../chunks/BBE-nu2B.js";export{o as load_css,r as start};
