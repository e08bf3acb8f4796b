import{_ as m}from"../chunks/S057hqqF.js";export{m as component};
