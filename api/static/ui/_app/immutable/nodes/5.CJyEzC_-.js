import{_ as m}from"../chunks/H7pIZHgZ.js";export{m as component};
