import{_ as m}from"../chunks/tr-pIQtN.js";export{m as component};
