import{a as e}from"../chunks/DWD_pXhf.js";export{e as component};
