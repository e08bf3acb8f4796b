import{s as r}from"../chunks/DTVFSqPw.js";import{C as t}from"../chunks/T_P73h0Q.js";export{t as load_css,r as start};
