import{a as e}from"../chunks/Cm0YSdGv.js";export{e as component};
