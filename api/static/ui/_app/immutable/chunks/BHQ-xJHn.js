import"./DWOmz1EE.js";
