import"./BIfx627c.js";
