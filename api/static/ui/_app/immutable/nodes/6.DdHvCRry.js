import{_ as m}from"../chunks/BAAHZCaI.js";export{m as component};
