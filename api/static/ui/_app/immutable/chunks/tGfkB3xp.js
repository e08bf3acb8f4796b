import"./CFfzb7lL.js";
