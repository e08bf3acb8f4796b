import{a as e}from"../chunks/CFfzb7lL.js";export{e as component};
