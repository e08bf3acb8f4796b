import{aV as o,aW as r}from"../chunks/lliy16Dm.js";export{o as load_css,r as start};
