import{a as e}from"../chunks/DihRru7b.js";export{e as component};
