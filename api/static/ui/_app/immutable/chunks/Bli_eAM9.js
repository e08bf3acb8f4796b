import"./DrHFWqN0.js";
