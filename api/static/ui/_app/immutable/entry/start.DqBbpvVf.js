import{aX as o,aY as r}from"../chunks/GhpSun9N.js";export{o as load_css,r as start};
