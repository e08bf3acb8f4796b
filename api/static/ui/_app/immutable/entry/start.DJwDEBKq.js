import{aU as o,aV as r}from"../chunks/BGAfIlsm.js";export{o as load_css,r as start};
