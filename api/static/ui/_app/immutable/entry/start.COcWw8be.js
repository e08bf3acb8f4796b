import{aI as o,aJ as r}from"../chunks/DHBx56HJ.js";export{o as load_css,r as start};
