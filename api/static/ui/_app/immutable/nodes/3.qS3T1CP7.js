import{a as e}from"../chunks/CSv1rBFA.js";export{e as component};
