import{_ as m}from"../chunks/BtJYdwhE.js";export{m as component};
