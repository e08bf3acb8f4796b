import{s as r}from"../chunks/Rt5NtEZU.js";import{y as t}from"../chunks/BXldTPe2.js";export{t as load_css,r as start};
