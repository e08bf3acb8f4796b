import"./BcMVHuAw.js";
