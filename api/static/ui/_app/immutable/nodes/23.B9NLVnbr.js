import{_ as m}from"../chunks/3FEtdDS8.js";export{m as component};
