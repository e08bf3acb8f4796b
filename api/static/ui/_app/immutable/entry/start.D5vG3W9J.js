import{aI as o,aJ as r}from"../chunks/BbhTfaHJ.js";export{o as load_css,r as start};
