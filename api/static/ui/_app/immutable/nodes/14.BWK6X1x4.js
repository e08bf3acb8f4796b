import{_ as m}from"../chunks/C6QP2JXO.js";export{m as component};
