import{aT as o,aU as r}from"../chunks/kmzf9rIF.js";export{o as load_css,r as start};
