import"./CJ7O0BPx.js";
