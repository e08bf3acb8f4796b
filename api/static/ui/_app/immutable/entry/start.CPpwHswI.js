import{aX as o,aY as r}from"../chunks/BQvgRPC6.js";export{o as load_css,r as start};
