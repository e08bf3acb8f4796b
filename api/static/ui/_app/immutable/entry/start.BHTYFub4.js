import{s as r}from"../chunks/tUX14pdR.js";import{y as t}from"../chunks/C4kpKVSB.js";export{t as load_css,r as start};
