import{aO as o,aP as r}from"../chunks/Bjd0wVPR.js";export{o as load_css,r as start};
