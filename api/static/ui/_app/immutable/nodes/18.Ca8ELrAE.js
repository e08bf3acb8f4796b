import{_ as m}from"../chunks/BscwL14e.js";export{m as component};
