import{_ as m}from"../chunks/CSdmVFGS.js";export{m as component};
