import"./C1OuknZL.js";
