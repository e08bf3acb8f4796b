import{_ as m}from"../chunks/dR2YqzSN.js";export{m as component};
