import{_ as m}from"../chunks/CLj-Lkpm.js";export{m as component};
