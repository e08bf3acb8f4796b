import{aY as o,aZ as r}from"../chunks/B5HyUYKn.js";export{o as load_css,r as start};
