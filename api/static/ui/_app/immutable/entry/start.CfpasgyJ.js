import{a$ as o,b0 as r}from"../chunks/B3DAdY10.js";export{o as load_css,r as start};
