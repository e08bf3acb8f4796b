import"./DIYO5HQR.js";
