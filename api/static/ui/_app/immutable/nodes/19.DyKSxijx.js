import{_ as m}from"../chunks/DWmFcQP4.js";export{m as component};
