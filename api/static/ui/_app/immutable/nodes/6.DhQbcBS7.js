import{_ as m}from"../chunks/C_ggHh9d.js";export{m as component};
