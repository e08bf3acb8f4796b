import{_ as m}from"../chunks/CfEdrBZW.js";export{m as component};
