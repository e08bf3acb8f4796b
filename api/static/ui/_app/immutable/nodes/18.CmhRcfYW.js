import{_ as m}from"../chunks/Dd_YqVuj.js";export{m as component};
