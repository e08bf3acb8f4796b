import"./BGyD9Sk4.js";
