import{a as e}from"../chunks/D2FOehVb.js";export{e as component};
