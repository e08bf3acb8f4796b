import"./DKMpVtvJ.js";
