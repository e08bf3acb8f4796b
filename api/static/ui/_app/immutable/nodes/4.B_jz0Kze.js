import{a as e}from"../chunks/BHwTNDwq.js";export{e as component};
