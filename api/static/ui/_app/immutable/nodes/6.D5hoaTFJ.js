import{_ as m}from"../chunks/BzlY7byn.js";export{m as component};
