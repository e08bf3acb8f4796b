import{aT as o,aU as r}from"../chunks/OWOr5hB1.js";export{o as load_css,r as start};
