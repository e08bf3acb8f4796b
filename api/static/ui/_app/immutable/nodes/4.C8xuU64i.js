import{a as e}from"../chunks/BnNMhbo8.js";export{e as component};
