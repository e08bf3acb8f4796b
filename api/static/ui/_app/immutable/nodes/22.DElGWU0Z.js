import{_ as m}from"../chunks/DNh4yu4C.js";export{m as component};
