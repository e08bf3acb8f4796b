import"./BctzLlvH.js";
