import{aT as o,aU as r}from"../chunks/tF_RFfWQ.js";export{o as load_css,r as start};
