import{_ as m}from"../chunks/BlKZQXOM.js";export{m as component};
