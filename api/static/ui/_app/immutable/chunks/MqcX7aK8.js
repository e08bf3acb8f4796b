import"./D2FOehVb.js";
