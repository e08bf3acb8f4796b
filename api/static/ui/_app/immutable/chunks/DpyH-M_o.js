import"./Co0-86Yf.js";
