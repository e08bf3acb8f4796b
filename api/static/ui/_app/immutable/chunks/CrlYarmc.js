import"./Cv-MhDcM.js";
