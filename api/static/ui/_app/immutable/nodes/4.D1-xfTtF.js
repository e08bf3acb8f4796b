import{a as e}from"../chunks/CiYT9_u_.js";export{e as component};
