import{a as e}from"../chunks/DfgRYWBR.js";export{e as component};
