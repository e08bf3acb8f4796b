import{_ as m}from"../chunks/BSWZcWIW.js";export{m as component};
