import"./BOs09a3m.js";
