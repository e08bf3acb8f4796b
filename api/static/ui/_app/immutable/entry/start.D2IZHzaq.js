import{s as r}from"../chunks/DcbXKJhw.js";import{y as t}from"../chunks/D1EIKj-a.js";export{t as load_css,r as start};
