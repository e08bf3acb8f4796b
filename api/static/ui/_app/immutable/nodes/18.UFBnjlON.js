import{_ as m}from"../chunks/B-gJLKcT.js";export{m as component};
