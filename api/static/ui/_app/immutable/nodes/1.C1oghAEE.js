import{E as m}from"../chunks/bhYAcR2D.js";export{m as component};
