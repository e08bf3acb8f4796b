import{_ as m}from"../chunks/smT4TpTh.js";export{m as component};
