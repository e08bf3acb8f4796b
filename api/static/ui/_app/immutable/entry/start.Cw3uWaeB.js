import{aY as o,aZ as r}from"../chunks/CgfCBlSn.js";export{o as load_css,r as start};
