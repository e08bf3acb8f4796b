import{_ as m}from"../chunks/DFxLI8-H.js";export{m as component};
