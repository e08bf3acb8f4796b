import{a as e}from"../chunks/B7C14CaE.js";export{e as component};
