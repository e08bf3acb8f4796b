import"./CD1ZAOxL.js";
