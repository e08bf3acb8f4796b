import{_ as m}from"../chunks/C4BL427s.js";export{m as component};
