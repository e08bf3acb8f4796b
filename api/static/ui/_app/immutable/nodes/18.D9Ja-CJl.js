import{_ as m}from"../chunks/CD1ZAOxL.js";export{m as component};
