import{_ as m}from"../chunks/i611v3b0.js";export{m as component};
