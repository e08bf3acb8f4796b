import{a as e}from"../chunks/CKyxHeiz.js";export{e as component};
