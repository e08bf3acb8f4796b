import{aT as o,aU as r}from"../chunks/Bz1gTe5G.js";export{o as load_css,r as start};
