import{_ as m}from"../chunks/DBOrTTR-.js";export{m as component};
