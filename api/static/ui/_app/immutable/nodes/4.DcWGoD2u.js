import{a as e}from"../chunks/Co0-86Yf.js";export{e as component};
