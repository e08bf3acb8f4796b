import{_ as m}from"../chunks/CrjrkeNg.js";export{m as component};
