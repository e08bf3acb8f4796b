import"./BiAUQa-5.js";
