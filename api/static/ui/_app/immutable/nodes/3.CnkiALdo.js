import{a as e}from"../chunks/BscwL14e.js";export{e as component};
