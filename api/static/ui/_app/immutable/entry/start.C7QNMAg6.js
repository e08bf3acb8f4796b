import{aV as o,aW as r}from"../chunks/DrVBLh2A.js";export{o as load_css,r as start};
