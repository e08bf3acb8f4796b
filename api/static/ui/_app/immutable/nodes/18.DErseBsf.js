import{_ as m}from"../chunks/CEc-neGj.js";export{m as component};
