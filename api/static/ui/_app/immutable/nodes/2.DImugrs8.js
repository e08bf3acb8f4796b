import{_ as m}from"../chunks/YG4QjGfX.js";export{m as component};
