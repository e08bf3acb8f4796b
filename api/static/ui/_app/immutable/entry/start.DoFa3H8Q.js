import{aK as o,aL as r}from"../chunks/BmwIPmBX.js";export{o as load_css,r as start};
