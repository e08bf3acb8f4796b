import{aK as o,aL as r}from"../chunks/DzPHI7lZ.js";export{o as load_css,r as start};
