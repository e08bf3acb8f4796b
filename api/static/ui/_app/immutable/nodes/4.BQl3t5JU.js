import{a as e}from"../chunks/av9JLwHT.js";export{e as component};
