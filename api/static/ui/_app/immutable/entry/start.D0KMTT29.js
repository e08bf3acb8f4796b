import{aK as o,aL as r}from"../chunks/Cfqv780j.js";export{o as load_css,r as start};
