import{_ as m}from"../chunks/EV71Bi-c.js";export{m as component};
