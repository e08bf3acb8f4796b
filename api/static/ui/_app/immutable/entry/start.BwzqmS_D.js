import{aT as o,aU as r}from"../chunks/Dlabm2Hl.js";export{o as load_css,r as start};
