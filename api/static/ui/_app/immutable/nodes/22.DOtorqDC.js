import{_ as m}from"../chunks/Cv-MhDcM.js";export{m as component};
