import{a as e}from"../chunks/GKH56KUv.js";export{e as component};
