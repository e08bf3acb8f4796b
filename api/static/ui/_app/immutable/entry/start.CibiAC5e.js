import{aY as o,aZ as r}from"../chunks/DPBO4IZO.js";export{o as load_css,r as start};
