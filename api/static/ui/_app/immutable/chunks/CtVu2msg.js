import"./C4gJ62FI.js";
