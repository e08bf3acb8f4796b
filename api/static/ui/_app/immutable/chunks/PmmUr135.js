import"./CwGFznVq.js";
