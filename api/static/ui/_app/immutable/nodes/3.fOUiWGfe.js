import{a as e}from"../chunks/Cyl220qr.js";export{e as component};
