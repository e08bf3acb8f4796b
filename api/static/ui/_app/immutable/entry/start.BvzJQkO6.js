import{aX as o,aY as r}from"../chunks/HhBZsU_C.js";export{o as load_css,r as start};
