import{a as e}from"../chunks/Dtwp9x6d.js";export{e as component};
