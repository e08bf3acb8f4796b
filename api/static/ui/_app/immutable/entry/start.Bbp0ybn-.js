import{aT as o,aU as r}from"../chunks/BybC8McO.js";export{o as load_css,r as start};
