import{a as e}from"../chunks/BtJYdwhE.js";export{e as component};
