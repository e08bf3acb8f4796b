import"./BnNMhbo8.js";
