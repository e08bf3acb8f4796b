import"./1sR_w8_f.js";
