import"./DBOrTTR-.js";
