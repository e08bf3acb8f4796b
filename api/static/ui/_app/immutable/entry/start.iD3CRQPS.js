import{aV as o,aW as r}from"../chunks/0zsTPZYi.js";export{o as load_css,r as start};
