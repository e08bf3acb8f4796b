import"./D_HxCqaI.js";
