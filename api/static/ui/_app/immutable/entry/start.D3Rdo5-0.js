import{s as r}from"../chunks/DDNgDLpH.js";import{C as t}from"../chunks/C9UvBViK.js";export{t as load_css,r as start};
