import{a as e}from"../chunks/DBOrTTR-.js";export{e as component};
