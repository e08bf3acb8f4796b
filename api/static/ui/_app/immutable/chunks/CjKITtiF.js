import"./Dvn7TRAq.js";
