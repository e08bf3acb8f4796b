import{aT as o,aU as r}from"../chunks/XA_lakRO.js";export{o as load_css,r as start};
