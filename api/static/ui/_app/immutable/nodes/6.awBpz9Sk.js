import{_ as m}from"../chunks/qGBEJbga.js";export{m as component};
