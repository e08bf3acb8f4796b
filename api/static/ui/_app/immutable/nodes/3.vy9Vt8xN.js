import{a as e}from"../chunks/CimHS4I9.js";export{e as component};
