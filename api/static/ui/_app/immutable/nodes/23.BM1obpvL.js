import{_ as m}from"../chunks/Co0-86Yf.js";export{m as component};
