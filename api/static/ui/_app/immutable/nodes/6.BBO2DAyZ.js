import{_ as m}from"../chunks/Cwi9rz8c.js";export{m as component};
