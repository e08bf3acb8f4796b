import{a as e}from"../chunks/C4gJ62FI.js";export{e as component};
