import{_ as m}from"../chunks/CfVd56Cb.js";export{m as component};
