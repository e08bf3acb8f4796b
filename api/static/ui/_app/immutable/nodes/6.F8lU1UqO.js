import{_ as m}from"../chunks/BYoHkfWi.js";export{m as component};
