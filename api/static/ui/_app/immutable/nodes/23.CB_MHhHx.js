import{_ as m}from"../chunks/DQgr2Nws.js";export{m as component};
