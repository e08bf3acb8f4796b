import{_ as m}from"../chunks/BIfx627c.js";export{m as component};
