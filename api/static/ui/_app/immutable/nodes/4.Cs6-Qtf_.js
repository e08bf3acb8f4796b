import{a as e}from"../chunks/KQqcd1_e.js";export{e as component};
