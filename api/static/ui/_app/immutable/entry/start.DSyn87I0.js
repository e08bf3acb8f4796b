import{aT as o,aU as r}from"../chunks/BSDQB-QA.js";export{o as load_css,r as start};
