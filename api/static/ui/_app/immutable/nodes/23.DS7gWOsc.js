import{_ as m}from"../chunks/C1OuknZL.js";export{m as component};
