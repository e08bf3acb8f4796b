import{a as e}from"../chunks/BiEbm5A6.js";export{e as component};
