import{a as e}from"../chunks/CfVd56Cb.js";export{e as component};
