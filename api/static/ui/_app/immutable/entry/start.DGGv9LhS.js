import{aT as o,aU as r}from"../chunks/DYbXlmzv.js";export{o as load_css,r as start};
