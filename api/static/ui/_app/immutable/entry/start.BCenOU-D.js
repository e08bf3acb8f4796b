import{aW as o,aX as r}from"../chunks/DlqGML4G.js";export{o as load_css,r as start};
