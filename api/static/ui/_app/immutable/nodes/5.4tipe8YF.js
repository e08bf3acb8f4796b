import{_ as m}from"../chunks/BO9jzaxy.js";export{m as component};
