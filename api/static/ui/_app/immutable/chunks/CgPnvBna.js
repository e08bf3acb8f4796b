import"./BfKigY9W.js";
