import{aO as o,aP as r}from"../chunks/Cn4kT589.js";export{o as load_css,r as start};
