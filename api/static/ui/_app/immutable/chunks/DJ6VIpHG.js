import"./Bm_twPUC.js";
