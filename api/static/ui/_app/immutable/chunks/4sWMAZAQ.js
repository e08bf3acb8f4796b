import"./l3sNFH6U.js";
