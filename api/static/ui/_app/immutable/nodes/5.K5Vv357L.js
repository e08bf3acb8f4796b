import{_ as m}from"../chunks/DIz9_zZo.js";export{m as component};
