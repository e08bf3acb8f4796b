import{_ as m}from"../chunks/B4o6SUo7.js";export{m as component};
