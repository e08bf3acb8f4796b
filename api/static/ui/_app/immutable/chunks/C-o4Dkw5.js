import"./CL4DB2SQ.js";
