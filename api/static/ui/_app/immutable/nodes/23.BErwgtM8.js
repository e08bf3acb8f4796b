import{_ as m}from"../chunks/uEDWy6NO.js";export{m as component};
