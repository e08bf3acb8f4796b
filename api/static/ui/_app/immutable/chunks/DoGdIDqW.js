import"./CrjrkeNg.js";
