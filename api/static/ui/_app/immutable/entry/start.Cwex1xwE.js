import{aU as o,aV as r}from"../chunks/BXL90H-b.js";export{o as load_css,r as start};
