import{_ as m}from"../chunks/CNgys65k.js";export{m as component};
