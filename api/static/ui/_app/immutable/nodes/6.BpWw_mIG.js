import{_ as m}from"../chunks/Dn5RPcl-.js";export{m as component};
