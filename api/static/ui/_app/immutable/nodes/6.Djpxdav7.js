import{_ as m}from"../chunks/CudySfoo.js";export{m as component};
