import"./CfVd56Cb.js";
