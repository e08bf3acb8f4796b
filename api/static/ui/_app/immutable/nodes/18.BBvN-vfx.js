import{_ as m}from"../chunks/CraMBmuf.js";export{m as component};
