import"./CNgys65k.js";
