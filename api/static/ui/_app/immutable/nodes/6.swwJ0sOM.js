import{_ as m}from"../chunks/DSehz8rK.js";export{m as component};
