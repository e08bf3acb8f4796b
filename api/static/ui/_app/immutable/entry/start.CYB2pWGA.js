import{s as r}from"../chunks/DcsYzNdq.js";import{C as t}from"../chunks/BI6MModX.js";export{t as load_css,r as start};
