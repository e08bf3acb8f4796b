import{a as e}from"../chunks/CJ7O0BPx.js";export{e as component};
