import{_ as m}from"../chunks/DsX7DiQT.js";export{m as component};
