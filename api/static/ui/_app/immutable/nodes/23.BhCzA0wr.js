import{_ as m}from"../chunks/Ci-0sfe8.js";export{m as component};
