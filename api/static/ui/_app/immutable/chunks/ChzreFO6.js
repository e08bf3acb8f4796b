import"./C4BL427s.js";
