import{a as e}from"../chunks/Bm_twPUC.js";export{e as component};
