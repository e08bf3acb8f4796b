import{aO as o,aP as r}from"../chunks/BKxjlqa8.js";export{o as load_css,r as start};
