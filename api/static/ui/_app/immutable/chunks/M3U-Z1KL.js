import"./BlNeDkzJ.js";
