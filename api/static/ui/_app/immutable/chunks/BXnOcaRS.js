import"./CKyxHeiz.js";
