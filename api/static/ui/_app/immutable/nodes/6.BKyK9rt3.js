import{_ as m}from"../chunks/CQQpQm0h.js";export{m as component};
