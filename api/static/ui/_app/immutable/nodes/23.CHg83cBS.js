import{_ as m}from"../chunks/BcMVHuAw.js";export{m as component};
