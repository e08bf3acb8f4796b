import{aI as o,aJ as r}from"../chunks/Carb_4Zl.js";export{o as load_css,r as start};
