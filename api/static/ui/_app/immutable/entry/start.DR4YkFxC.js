import{a$ as o,b0 as r}from"../chunks/jMc9lGDb.js";export{o as load_css,r as start};
