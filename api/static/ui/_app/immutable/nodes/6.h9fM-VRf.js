import{_ as m}from"../chunks/SKCom_Nb.js";export{m as component};
