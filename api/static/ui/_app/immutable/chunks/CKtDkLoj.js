import"./DWD_pXhf.js";
