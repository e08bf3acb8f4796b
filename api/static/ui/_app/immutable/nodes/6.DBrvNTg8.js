import{_ as m}from"../chunks/DvjNkpOf.js";export{m as component};
