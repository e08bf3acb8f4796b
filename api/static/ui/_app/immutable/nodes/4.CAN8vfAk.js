import{a as e}from"../chunks/Da7WztkV.js";export{e as component};
