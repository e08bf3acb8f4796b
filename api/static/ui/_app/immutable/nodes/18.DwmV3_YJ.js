import{_ as m}from"../chunks/CimHS4I9.js";export{m as component};
