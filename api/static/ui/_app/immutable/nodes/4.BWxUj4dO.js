import{a as e}from"../chunks/X3UGo_kN.js";export{e as component};
