import{_ as m}from"../chunks/Def7qnBo.js";export{m as component};
