import{_ as m}from"../chunks/DfgRYWBR.js";export{m as component};
