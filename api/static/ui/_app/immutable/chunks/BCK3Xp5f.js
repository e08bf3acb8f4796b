import"./D1Mp1HnV.js";
