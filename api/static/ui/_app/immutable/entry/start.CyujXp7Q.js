import{aV as o,aW as r}from"../chunks/CBIqDuos.js";export{o as load_css,r as start};
