import"./KQqcd1_e.js";
