import{_ as m}from"../chunks/DKeMQwrF.js";export{m as component};
