import{a as e}from"../chunks/3FEtdDS8.js";export{e as component};
