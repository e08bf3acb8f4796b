import{_ as m}from"../chunks/BZYlcfXe.js";export{m as component};
