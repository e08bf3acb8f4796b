import{_ as m}from"../chunks/Dh-qWto8.js";export{m as component};
