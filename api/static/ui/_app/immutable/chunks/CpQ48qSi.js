import"./3FEtdDS8.js";
