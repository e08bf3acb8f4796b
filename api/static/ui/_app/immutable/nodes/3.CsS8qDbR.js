import{a as e}from"../chunks/B-gJLKcT.js";export{e as component};
