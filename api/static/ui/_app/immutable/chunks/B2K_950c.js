import"./nDZwz5cF.js";
