import"./-IZj1HEY.js";
