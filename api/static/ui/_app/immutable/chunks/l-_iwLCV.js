import"./CiYT9_u_.js";
