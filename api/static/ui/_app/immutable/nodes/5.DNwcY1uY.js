import{_ as m}from"../chunks/D_LVU2VN.js";export{m as component};
