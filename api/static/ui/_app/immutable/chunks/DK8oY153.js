import"./ups83yOc.js";
