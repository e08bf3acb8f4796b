import{a as e}from"../chunks/DrrgwzT6.js";export{e as component};
