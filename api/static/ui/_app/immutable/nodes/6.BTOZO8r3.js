import{_ as m}from"../chunks/BnGxLay2.js";export{m as component};
