import{_ as m}from"../chunks/DKYAP5i3.js";export{m as component};
