import{a as e}from"../chunks/Def7qnBo.js";export{e as component};
