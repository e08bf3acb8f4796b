import{aJ as o,aK as r}from"../chunks/ga_RgEe4.js";export{o as load_css,r as start};
