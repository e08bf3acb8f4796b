import{a as e}from"../chunks/DQgr2Nws.js";export{e as component};
