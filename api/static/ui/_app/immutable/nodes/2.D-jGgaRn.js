import{_ as m}from"../chunks/DqWWymGr.js";export{m as component};
