import{_ as m}from"../chunks/BlNeDkzJ.js";export{m as component};
