import{_ as m}from"../chunks/CQt-MzCf.js";export{m as component};
