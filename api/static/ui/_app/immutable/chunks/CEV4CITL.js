import"./DaCKiRbc.js";
