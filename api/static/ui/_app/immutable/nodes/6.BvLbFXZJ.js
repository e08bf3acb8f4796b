import{_ as m}from"../chunks/BPaAKils.js";export{m as component};
