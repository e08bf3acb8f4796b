import{_ as m}from"../chunks/CTNiWiU3.js";export{m as component};
