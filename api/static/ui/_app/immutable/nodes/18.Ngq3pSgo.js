import{_ as m}from"../chunks/Dvn7TRAq.js";export{m as component};
