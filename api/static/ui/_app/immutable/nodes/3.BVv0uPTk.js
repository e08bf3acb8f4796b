import{a as e}from"../chunks/CD1ZAOxL.js";export{e as component};
