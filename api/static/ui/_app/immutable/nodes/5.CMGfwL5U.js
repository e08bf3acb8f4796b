import{_ as m}from"../chunks/D5FvzU9B.js";export{m as component};
