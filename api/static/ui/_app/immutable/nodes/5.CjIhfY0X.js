import{_ as m}from"../chunks/D5a_m0Bs.js";export{m as component};
