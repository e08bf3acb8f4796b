import{_ as m}from"../chunks/BIIkKWsz.js";export{m as component};
