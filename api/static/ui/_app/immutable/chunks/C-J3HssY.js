import"./Dg3G4nhP.js";
