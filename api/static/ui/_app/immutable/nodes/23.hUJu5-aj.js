import{_ as m}from"../chunks/Da7WztkV.js";export{m as component};
