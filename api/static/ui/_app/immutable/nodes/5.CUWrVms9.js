import{_ as m}from"../chunks/Dbg1o6ID.js";export{m as component};
