import{a as e}from"../chunks/BOs09a3m.js";export{e as component};
