import{a as e}from"../chunks/DZU_gZ3G.js";export{e as component};
