import{_ as m}from"../chunks/r-IDPTCQ.js";export{m as component};
