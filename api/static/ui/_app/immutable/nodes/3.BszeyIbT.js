import{a as e}from"../chunks/CEc-neGj.js";export{e as component};
