import{_ as m}from"../chunks/AczXDSIw.js";export{m as component};
