import"./CraMBmuf.js";
