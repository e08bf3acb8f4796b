import{a$ as o,b0 as r}from"../chunks/mdO9PLPX.js";export{o as load_css,r as start};
