import{a as e}from"../chunks/QiaFMkMt.js";export{e as component};
