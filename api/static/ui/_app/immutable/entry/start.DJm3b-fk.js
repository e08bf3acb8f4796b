import{aV as o,aW as r}from"../chunks/CVCdtXA_.js";export{o as load_css,r as start};
