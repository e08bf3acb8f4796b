import{_ as m}from"../chunks/X3UGo_kN.js";export{m as component};
