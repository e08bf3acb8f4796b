import{a as e}from"../chunks/DNh4yu4C.js";export{e as component};
