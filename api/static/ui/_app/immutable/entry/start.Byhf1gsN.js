import{aT as o,aU as r}from"../chunks/BAtjy0Wa.js";export{o as load_css,r as start};
