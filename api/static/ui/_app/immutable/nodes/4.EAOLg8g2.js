import{a as e}from"../chunks/BIfx627c.js";export{e as component};
