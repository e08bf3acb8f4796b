import{aT as o,aU as r}from"../chunks/CZaL0Cx_.js";export{o as load_css,r as start};
