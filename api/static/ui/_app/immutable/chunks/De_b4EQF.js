import"./N5rl49nm.js";
