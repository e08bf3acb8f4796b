import{a as e}from"../chunks/Dd8EpqAO.js";export{e as component};
