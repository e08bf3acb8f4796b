import{_ as m}from"../chunks/C1_5_dcJ.js";export{m as component};
