import{_ as m}from"../chunks/CTbz-PpY.js";export{m as component};
