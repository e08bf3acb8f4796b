import{s as r}from"../chunks/BldgWtks.js";import{C as t}from"../chunks/HOd5MLgo.js";export{t as load_css,r as start};
