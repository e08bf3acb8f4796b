import{_ as m}from"../chunks/CFfzb7lL.js";export{m as component};
