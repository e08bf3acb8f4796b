import{a as e}from"../chunks/N5rl49nm.js";export{e as component};
