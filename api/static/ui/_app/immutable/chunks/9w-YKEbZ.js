import"./Df9VqVLc.js";
