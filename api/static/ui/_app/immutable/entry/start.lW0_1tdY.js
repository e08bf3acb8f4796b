import{aI as o,aJ as r}from"../chunks/cOshtmAR.js";export{o as load_css,r as start};
