import{a as e}from"../chunks/uEDWy6NO.js";export{e as component};
