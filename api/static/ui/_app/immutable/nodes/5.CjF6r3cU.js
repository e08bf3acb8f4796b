import{_ as m}from"../chunks/CWLzuPd6.js";export{m as component};
