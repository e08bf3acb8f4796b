import{_ as m}from"../chunks/BiAUQa-5.js";export{m as component};
