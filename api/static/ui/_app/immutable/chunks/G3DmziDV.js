import"./B7dw-xx7.js";
