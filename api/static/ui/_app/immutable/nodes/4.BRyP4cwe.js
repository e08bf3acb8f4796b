import{a as e}from"../chunks/Ci-0sfe8.js";export{e as component};
