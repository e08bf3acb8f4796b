import{_ as m}from"../chunks/C_w2r4Lq.js";export{m as component};
