import{_ as m}from"../chunks/6P_cbL9K.js";export{m as component};
