import"./Dtwp9x6d.js";
