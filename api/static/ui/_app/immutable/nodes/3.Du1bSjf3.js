import{a as e}from"../chunks/DWmFcQP4.js";export{e as component};
