import{_ as m}from"../chunks/CJ7O0BPx.js";export{m as component};
