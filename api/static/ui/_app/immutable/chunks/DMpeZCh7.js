import"./B9BKz0Yi.js";
