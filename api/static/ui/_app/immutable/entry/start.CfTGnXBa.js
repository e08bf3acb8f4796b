import{aX as o,aY as r}from"../chunks/BcwzQ2NR.js";export{o as load_css,r as start};
