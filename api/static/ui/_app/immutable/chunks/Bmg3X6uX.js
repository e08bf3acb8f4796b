import"./X1Ujxs3j.js";
