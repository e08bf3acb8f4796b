import{_ as m}from"../chunks/C4gJ62FI.js";export{m as component};
