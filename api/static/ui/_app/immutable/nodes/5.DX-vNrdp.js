import{_ as m}from"../chunks/D4HrI-hL.js";export{m as component};
