import"./CLj-Lkpm.js";
