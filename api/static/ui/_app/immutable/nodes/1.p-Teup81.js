import{E as m}from"../chunks/BjnRRJni.js";export{m as component};
