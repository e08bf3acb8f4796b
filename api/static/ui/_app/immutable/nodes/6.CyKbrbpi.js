import{_ as m}from"../chunks/BT4PSv3H.js";export{m as component};
