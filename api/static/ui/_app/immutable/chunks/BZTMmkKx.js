import"./BscwL14e.js";
