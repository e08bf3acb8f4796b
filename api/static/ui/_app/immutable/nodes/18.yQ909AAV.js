import{_ as m}from"../chunks/Cyl220qr.js";export{m as component};
