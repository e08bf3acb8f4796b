import{a as e}from"../chunks/1sR_w8_f.js";export{e as component};
