import"./Def7qnBo.js";
