import{_ as m}from"../chunks/B7C14CaE.js";export{m as component};
