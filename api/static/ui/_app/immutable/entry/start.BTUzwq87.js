import{aV as o,aW as r}from"../chunks/C0iEkw4P.js";export{o as load_css,r as start};
