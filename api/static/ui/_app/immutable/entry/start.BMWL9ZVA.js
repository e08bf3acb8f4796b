import{aT as o,aU as r}from"../chunks/DQQdFf7J.js";export{o as load_css,r as start};
