import"./DWmFcQP4.js";
