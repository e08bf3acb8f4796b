import{_ as m}from"../chunks/B1fnjNx5.js";export{m as component};
