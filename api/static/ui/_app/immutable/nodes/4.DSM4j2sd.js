import{a as e}from"../chunks/BcMVHuAw.js";export{e as component};
