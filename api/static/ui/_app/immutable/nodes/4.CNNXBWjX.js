import{a as e}from"../chunks/DIYO5HQR.js";export{e as component};
