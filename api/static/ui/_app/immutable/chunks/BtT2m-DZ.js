import"./B9F3hoLT.js";
