import{a$ as o,b0 as r}from"../chunks/CbCTda7I.js";export{o as load_css,r as start};
