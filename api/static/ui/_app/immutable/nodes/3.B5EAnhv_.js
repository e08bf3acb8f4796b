import{a as e}from"../chunks/CL4DB2SQ.js";export{e as component};
