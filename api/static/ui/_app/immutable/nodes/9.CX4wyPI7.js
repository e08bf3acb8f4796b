import{_ as m}from"../chunks/uF1qPQFQ.js";export{m as component};
