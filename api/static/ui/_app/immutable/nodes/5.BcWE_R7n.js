import{_ as m}from"../chunks/CLGBCKUh.js";export{m as component};
