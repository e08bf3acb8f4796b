import{a as e}from"../chunks/DHgMwvSj.js";export{e as component};
