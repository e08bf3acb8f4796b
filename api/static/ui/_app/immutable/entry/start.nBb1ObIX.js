import{aV as o,aW as r}from"../chunks/t_NHPLo8.js";export{o as load_css,r as start};
