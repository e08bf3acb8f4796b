import{E as m}from"../chunks/CPS8KwMA.js";export{m as component};
