import{a as e}from"../chunks/Cv-MhDcM.js";export{e as component};
