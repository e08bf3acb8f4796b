import"./DrrgwzT6.js";
