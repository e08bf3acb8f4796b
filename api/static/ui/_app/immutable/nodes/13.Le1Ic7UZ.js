import{_ as m}from"../chunks/BA-UP3hL.js";export{m as component};
