import{a as e}from"../chunks/B1fnjNx5.js";export{e as component};
