import"./Bgo_mtJk.js";
