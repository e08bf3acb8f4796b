import{a$ as o,b0 as r}from"../chunks/C-Zqp-KE.js";export{o as load_css,r as start};
