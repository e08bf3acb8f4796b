import{_ as m}from"../chunks/BdDTYlFb.js";export{m as component};
