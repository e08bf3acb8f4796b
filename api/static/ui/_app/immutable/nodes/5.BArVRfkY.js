import{a as e}from"../chunks/DqWWymGr.js";export{e as component};
