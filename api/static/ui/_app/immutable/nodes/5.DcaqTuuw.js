import{_ as m}from"../chunks/DBQ4Omul.js";export{m as component};
