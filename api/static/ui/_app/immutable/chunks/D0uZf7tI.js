import"./DqWWymGr.js";
