import{_ as m}from"../chunks/6jBVkhIz.js";export{m as component};
