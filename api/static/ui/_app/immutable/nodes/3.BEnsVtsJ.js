import{a as e}from"../chunks/BGyD9Sk4.js";export{e as component};
