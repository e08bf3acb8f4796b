import{_ as m}from"../chunks/D_HxCqaI.js";export{m as component};
