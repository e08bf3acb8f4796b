import{a as e}from"../chunks/CrjrkeNg.js";export{e as component};
