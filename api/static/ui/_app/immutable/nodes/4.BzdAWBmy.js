import{a as e}from"../chunks/CmpQ_OwG.js";export{e as component};
