import{aW as o,aX as r}from"../chunks/BEGDMzBY.js";export{o as load_css,r as start};
