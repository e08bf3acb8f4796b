import"./B7C14CaE.js";
