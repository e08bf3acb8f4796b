import"./B-gJLKcT.js";
