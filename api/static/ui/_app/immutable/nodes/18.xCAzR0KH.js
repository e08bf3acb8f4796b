import{_ as m}from"../chunks/DrHFWqN0.js";export{m as component};
