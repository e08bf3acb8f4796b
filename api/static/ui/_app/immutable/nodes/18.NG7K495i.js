import{_ as m}from"../chunks/BiEbm5A6.js";export{m as component};
