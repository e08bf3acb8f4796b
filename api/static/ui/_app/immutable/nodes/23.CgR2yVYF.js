import{_ as m}from"../chunks/QiaFMkMt.js";export{m as component};
