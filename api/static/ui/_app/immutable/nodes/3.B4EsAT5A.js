import{a as e}from"../chunks/DrHFWqN0.js";export{e as component};
