import{a as e}from"../chunks/3F6DfGIC.js";export{e as component};
