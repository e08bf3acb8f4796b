import"./CSv1rBFA.js";
