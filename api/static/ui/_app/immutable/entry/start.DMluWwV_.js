import{a$ as o,b0 as r}from"../chunks/DQXz-28-.js";export{o as load_css,r as start};
