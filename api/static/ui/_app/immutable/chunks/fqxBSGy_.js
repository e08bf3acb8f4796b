import"./BtIvSZLW.js";
