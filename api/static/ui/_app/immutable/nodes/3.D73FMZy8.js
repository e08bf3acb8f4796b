import{a as e}from"../chunks/C4BL427s.js";export{e as component};
