import{aX as o,aY as r}from"../chunks/D7LXutcd.js";export{o as load_css,r as start};
