import{_ as m}from"../chunks/Ca80ffpt.js";export{m as component};
