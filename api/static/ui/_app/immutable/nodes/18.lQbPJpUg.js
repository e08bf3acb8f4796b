import{_ as m}from"../chunks/Cm0YSdGv.js";export{m as component};
