import{a as e}from"../chunks/Cp_MvTbP.js";export{e as component};
