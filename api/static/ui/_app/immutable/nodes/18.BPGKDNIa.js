import{_ as m}from"../chunks/B7dw-xx7.js";export{m as component};
