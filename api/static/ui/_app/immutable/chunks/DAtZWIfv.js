import"./DNh4yu4C.js";
