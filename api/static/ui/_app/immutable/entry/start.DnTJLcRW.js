import{aX as o,aY as r}from"../chunks/C_S5v0x2.js";export{o as load_css,r as start};
