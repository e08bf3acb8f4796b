import{_ as m}from"../chunks/CHKWT_Oj.js";export{m as component};
