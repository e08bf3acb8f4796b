import{_ as m}from"../chunks/CKyxHeiz.js";export{m as component};
