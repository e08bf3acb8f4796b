import{a as e}from"../chunks/X1Ujxs3j.js";export{e as component};
