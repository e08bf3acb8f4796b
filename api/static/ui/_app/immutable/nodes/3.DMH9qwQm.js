import{a as e}from"../chunks/CLj-Lkpm.js";export{e as component};
