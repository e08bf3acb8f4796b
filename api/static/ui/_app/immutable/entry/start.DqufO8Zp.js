import{a$ as o,b0 as r}from"../chunks/DEYNjFRi.js";export{o as load_css,r as start};
