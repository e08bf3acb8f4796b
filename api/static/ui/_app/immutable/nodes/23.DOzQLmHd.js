import{_ as m}from"../chunks/N5rl49nm.js";export{m as component};
