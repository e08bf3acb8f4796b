import"./QiaFMkMt.js";
