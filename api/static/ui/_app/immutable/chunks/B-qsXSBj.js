import"./DihRru7b.js";
