import{a as e}from"../chunks/Dvn7TRAq.js";export{e as component};
