import{_ as m}from"../chunks/RpiVDgGg.js";export{m as component};
