import{_ as m}from"../chunks/C5uGj-Yf.js";export{m as component};
