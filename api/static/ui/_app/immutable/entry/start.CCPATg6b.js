import{aT as o,aU as r}from"../chunks/bv4h4NvL.js";export{o as load_css,r as start};
