import{_ as m}from"../chunks/Dg3G4nhP.js";export{m as component};
