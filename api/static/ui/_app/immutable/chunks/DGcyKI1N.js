import"./3F6DfGIC.js";
