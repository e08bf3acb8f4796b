import{_ as m}from"../chunks/Dtwp9x6d.js";export{m as component};
