import{_ as m}from"../chunks/DrrgwzT6.js";export{m as component};
