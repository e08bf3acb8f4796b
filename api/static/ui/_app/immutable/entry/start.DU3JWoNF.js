import{aI as o,aJ as r}from"../chunks/BpSPrx6t.js";export{o as load_css,r as start};
