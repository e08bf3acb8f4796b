import"./DQgr2Nws.js";
