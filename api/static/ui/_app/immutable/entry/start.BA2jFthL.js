import{aT as o,aU as r}from"../chunks/Dbu5GFM1.js";export{o as load_css,r as start};
