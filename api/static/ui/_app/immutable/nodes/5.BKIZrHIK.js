import{_ as m}from"../chunks/C2b7z6Jx.js";export{m as component};
