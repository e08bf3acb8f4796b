import"./BtJYdwhE.js";
