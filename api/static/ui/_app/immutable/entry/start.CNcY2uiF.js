import{s as r}from"../chunks/DWjvJz4r.js";import{y as t}from"../chunks/Bdzp9m9K.js";export{t as load_css,r as start};
