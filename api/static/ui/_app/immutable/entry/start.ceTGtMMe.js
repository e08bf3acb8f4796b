import{aZ as o,a_ as r}from"../chunks/DhpBf8Cz.js";export{o as load_css,r as start};
