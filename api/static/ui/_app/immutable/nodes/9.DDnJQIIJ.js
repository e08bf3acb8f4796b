import{_ as m}from"../chunks/B7GbnixU.js";export{m as component};
