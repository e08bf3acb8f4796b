import{aI as o,aJ as r}from"../chunks/C-SRppaX.js";export{o as load_css,r as start};
