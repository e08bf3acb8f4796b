import{_ as m}from"../chunks/DVuHRwpP.js";export{m as component};
