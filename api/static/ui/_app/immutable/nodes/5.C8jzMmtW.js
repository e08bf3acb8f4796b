import{_ as m}from"../chunks/CgNvA0WR.js";export{m as component};
