import{_ as m}from"../chunks/DNhs1pHm.js";export{m as component};
