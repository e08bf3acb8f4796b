import{_ as m}from"../chunks/3F6DfGIC.js";export{m as component};
