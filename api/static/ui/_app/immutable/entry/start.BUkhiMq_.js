import{s as r}from"../chunks/C-XRyRHY.js";import{y as t}from"../chunks/BQe3fCut.js";export{t as load_css,r as start};
