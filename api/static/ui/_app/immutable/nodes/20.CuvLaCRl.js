import{_ as m}from"../chunks/CSv1rBFA.js";export{m as component};
