import"./RpiVDgGg.js";
