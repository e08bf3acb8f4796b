import{a as e}from"../chunks/B9BKz0Yi.js";export{e as component};
