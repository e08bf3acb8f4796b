import{_ as m}from"../chunks/KQqcd1_e.js";export{m as component};
