import{_ as m}from"../chunks/CXq0uLed.js";export{m as component};
