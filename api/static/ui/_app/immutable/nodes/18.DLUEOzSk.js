import{_ as m}from"../chunks/DWOmz1EE.js";export{m as component};
