import{aT as o,aU as r}from"../chunks/BfXRba9B.js";export{o as load_css,r as start};
