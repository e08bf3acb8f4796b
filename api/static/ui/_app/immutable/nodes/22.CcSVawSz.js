import{_ as m}from"../chunks/DIYO5HQR.js";export{m as component};
