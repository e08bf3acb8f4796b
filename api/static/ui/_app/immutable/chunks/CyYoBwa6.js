import"./DpDfr50y.js";
