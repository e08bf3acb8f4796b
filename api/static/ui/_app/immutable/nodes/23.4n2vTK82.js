import{_ as m}from"../chunks/Bm_twPUC.js";export{m as component};
