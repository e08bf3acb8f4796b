import{_ as m}from"../chunks/GRRgX5HZ.js";export{m as component};
