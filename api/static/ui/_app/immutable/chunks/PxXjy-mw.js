import"./C5uGj-Yf.js";
