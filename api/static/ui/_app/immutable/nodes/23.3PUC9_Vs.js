import{_ as m}from"../chunks/BHwTNDwq.js";export{m as component};
