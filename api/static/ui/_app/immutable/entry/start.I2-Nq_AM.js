import{aT as o,aU as r}from"../chunks/Dmx9gvyI.js";export{o as load_css,r as start};
