import{_ as m}from"../chunks/C4LxjGpV.js";export{m as component};
