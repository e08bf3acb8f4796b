import{_ as m}from"../chunks/9JH8i5nt.js";export{m as component};
