import{a as e}from"../chunks/D_HxCqaI.js";export{e as component};
