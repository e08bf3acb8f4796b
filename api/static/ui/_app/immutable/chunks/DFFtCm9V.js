import"./BiEbm5A6.js";
