import{aK as o,aL as r}from"../chunks/CrFb3KxY.js";export{o as load_css,r as start};
