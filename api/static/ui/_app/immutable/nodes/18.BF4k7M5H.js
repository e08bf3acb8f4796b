import{_ as m}from"../chunks/DWD_pXhf.js";export{m as component};
