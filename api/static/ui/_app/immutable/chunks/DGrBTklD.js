import"./Cp_MvTbP.js";
