import"./DR3bMsqo.js";
