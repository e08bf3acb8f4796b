import{_ as m}from"../chunks/BnNMhbo8.js";export{m as component};
