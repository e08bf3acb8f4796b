import{_ as m}from"../chunks/teJKEuPj.js";export{m as component};
