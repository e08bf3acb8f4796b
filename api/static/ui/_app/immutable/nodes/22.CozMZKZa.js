import{_ as m}from"../chunks/DKMpVtvJ.js";export{m as component};
