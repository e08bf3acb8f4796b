import{aO as o,aP as r}from"../chunks/Dtm1YK8U.js";export{o as load_css,r as start};
