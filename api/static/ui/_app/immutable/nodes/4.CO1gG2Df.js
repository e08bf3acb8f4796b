import{a as e}from"../chunks/CwGFznVq.js";export{e as component};
