import{aH as o,aI as r}from"../chunks/IGAksIO2.js";export{o as load_css,r as start};
