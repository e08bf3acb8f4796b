import{_ as m}from"../chunks/BGyD9Sk4.js";export{m as component};
