import{_ as m}from"../chunks/CiYT9_u_.js";export{m as component};
