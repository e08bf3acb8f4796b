import{a as e}from"../chunks/RpiVDgGg.js";export{e as component};
