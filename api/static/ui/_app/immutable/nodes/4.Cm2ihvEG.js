import{a as e}from"../chunks/DcPwBtW6.js";export{e as component};
