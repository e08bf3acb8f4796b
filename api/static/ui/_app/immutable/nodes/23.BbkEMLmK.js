import{_ as m}from"../chunks/Cp_MvTbP.js";export{m as component};
