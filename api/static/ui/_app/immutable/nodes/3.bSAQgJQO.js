import{a as e}from"../chunks/CraMBmuf.js";export{e as component};
