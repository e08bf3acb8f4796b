import{a as e}from"../chunks/Bgo_mtJk.js";export{e as component};
