import{aO as o,aP as r}from"../chunks/DnHZn8h-.js";export{o as load_css,r as start};
