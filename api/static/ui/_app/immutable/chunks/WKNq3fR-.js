import"./DHgMwvSj.js";
