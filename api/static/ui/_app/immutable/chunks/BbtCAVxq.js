import"./X3UGo_kN.js";
