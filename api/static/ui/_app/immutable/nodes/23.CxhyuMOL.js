import{_ as m}from"../chunks/DcPwBtW6.js";export{m as component};
