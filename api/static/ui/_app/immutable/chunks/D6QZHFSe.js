import"./DfgRYWBR.js";
