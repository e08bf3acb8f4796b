import{_ as m}from"../chunks/BOs09a3m.js";export{m as component};
