import"./Dd8EpqAO.js";
