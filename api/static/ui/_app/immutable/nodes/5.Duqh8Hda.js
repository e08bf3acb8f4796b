import{_ as m}from"../chunks/CjsQ_oUO.js";export{m as component};
