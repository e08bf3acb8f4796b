import{s as r}from"../chunks/COcRFB9j.js";import{C as t}from"../chunks/B8Hezpk5.js";export{t as load_css,r as start};
