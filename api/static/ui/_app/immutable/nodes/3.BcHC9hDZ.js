import{a as e}from"../chunks/C1_5_dcJ.js";export{e as component};
