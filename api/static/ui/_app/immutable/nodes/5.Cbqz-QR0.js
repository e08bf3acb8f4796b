import{_ as m}from"../chunks/DE_YLbI0.js";export{m as component};
