import{a as e}from"../chunks/C5uGj-Yf.js";export{e as component};
