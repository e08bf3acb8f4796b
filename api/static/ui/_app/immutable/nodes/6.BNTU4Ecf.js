import{_ as m}from"../chunks/BZ5AeAm1.js";export{m as component};
