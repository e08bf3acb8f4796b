import{a$ as o,b0 as r}from"../chunks/Bzy1w_N6.js";export{o as load_css,r as start};
