import{_ as m}from"../chunks/Bgo_mtJk.js";export{m as component};
