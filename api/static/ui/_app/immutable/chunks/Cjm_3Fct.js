import"./B1fnjNx5.js";
