import{_ as m}from"../chunks/DHgMwvSj.js";export{m as component};
