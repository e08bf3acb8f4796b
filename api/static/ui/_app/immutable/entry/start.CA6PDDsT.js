import{aX as o,aY as r}from"../chunks/BgR_7PqN.js";export{o as load_css,r as start};
