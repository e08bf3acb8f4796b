import"./CEc-neGj.js";
