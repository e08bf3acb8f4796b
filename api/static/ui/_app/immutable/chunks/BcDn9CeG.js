import"./BHwTNDwq.js";
