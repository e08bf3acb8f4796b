import{a as e}from"../chunks/Dg3G4nhP.js";export{e as component};
