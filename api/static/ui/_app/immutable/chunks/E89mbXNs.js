import"./CimHS4I9.js";
