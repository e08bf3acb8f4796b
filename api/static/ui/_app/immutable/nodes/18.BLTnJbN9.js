import{_ as m}from"../chunks/CL4DB2SQ.js";export{m as component};
