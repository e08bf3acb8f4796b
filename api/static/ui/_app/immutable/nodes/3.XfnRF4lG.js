import{a as e}from"../chunks/Dd_YqVuj.js";export{e as component};
