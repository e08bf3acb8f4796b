import{_ as m}from"../chunks/Br5neYqj.js";export{m as component};
