import{_ as m}from"../chunks/CmpQ_OwG.js";export{m as component};
