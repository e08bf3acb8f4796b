import{a as e}from"../chunks/DKMpVtvJ.js";export{e as component};
