import{_ as m}from"../chunks/CwGFznVq.js";export{m as component};
