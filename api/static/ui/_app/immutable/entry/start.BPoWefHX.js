import{aV as o,aW as r}from"../chunks/_jm9D_IY.js";export{o as load_css,r as start};
