import{aY as o,aZ as r}from"../chunks/psSXX955.js";export{o as load_css,r as start};
