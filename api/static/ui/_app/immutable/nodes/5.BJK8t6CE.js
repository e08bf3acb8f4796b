import{_ as m}from"../chunks/DXrvrWox.js";export{m as component};
