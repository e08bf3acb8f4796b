import{_ as m}from"../chunks/DL9QVeJ1.js";export{m as component};
