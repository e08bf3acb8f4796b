import{_ as m}from"../chunks/yoXkoLJB.js";export{m as component};
