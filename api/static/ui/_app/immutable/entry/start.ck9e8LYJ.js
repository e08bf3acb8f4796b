import{aV as o,aW as r}from"../chunks/B-cM6F7s.js";export{o as load_css,r as start};
