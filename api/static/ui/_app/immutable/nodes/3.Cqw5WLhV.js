import{_ as m}from"../chunks/DZU_gZ3G.js";export{m as component};
