import"./DvYvc5vT.js";
