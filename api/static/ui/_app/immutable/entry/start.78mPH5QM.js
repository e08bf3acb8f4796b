import{aV as o,aW as r}from"../chunks/g3PZcZWi.js";export{o as load_css,r as start};
