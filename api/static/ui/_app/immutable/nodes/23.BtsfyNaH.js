import{_ as m}from"../chunks/X1Ujxs3j.js";export{m as component};
