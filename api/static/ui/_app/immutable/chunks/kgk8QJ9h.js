import"./Dd_YqVuj.js";
