import{_ as m}from"../chunks/S2ErX_GW.js";export{m as component};
