import{_ as m}from"../chunks/1sR_w8_f.js";export{m as component};
