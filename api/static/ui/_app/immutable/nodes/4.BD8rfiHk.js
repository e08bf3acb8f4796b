import{a as e}from"../chunks/Df9VqVLc.js";export{e as component};
