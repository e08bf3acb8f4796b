import{_ as m}from"../chunks/DV9HnpNk.js";export{m as component};
