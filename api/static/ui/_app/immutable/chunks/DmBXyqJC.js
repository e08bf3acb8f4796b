import"./Cm0YSdGv.js";
