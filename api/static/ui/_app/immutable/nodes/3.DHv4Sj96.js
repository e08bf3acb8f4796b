import{a as e}from"../chunks/CNgys65k.js";export{e as component};
