import{_ as m}from"../chunks/CSoqpMJs.js";export{m as component};
