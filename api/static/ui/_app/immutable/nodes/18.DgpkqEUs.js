import{_ as m}from"../chunks/GKH56KUv.js";export{m as component};
