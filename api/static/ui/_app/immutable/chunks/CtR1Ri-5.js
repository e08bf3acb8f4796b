import"./av9JLwHT.js";
