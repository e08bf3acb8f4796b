import{_ as m}from"../chunks/CsoCvQUB.js";export{m as component};
