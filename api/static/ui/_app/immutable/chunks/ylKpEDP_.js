import"./C1_5_dcJ.js";
