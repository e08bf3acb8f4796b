import"./jvZNwTEi.js";
