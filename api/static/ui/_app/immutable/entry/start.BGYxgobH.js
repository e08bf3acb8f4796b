import{aO as o,aP as r}from"../chunks/Cbhn8_AX.js";export{o as load_css,r as start};
