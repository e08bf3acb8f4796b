import{a as e}from"../chunks/C1OuknZL.js";export{e as component};
