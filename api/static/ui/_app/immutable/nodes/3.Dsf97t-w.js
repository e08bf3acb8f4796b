import{a as e}from"../chunks/DWOmz1EE.js";export{e as component};
