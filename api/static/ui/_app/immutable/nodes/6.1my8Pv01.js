import{_ as m}from"../chunks/G9RgNiw0.js";export{m as component};
