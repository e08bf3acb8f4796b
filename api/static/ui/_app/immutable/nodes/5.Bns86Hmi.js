import{_ as m}from"../chunks/CTibz_DG.js";export{m as component};
