import{aT as o,aU as r}from"../chunks/BmVYlER5.js";export{o as load_css,r as start};
