import{_ as m}from"../chunks/x1r7I5DE.js";export{m as component};
