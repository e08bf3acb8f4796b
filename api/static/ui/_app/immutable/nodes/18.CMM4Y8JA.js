import{_ as m}from"../chunks/BfKigY9W.js";export{m as component};
