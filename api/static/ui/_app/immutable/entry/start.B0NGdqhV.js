import{s as r}from"../chunks/LqUoHQrA.js";import{y as t}from"../chunks/B9TDcVav.js";export{t as load_css,r as start};
