import{_ as m}from"../chunks/SIcfWWFt.js";export{m as component};
