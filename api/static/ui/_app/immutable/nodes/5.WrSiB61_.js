import{_ as m}from"../chunks/DI547e4D.js";export{m as component};
