import"./Ci-0sfe8.js";
