import{_ as m}from"../chunks/CNIJdvN8.js";export{m as component};
