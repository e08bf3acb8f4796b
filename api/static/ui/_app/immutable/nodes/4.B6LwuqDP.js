import{a as e}from"../chunks/BlNeDkzJ.js";export{e as component};
