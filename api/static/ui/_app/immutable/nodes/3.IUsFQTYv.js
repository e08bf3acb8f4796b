import{a as e}from"../chunks/BfKigY9W.js";export{e as component};
