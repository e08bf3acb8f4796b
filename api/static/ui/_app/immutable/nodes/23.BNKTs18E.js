import{_ as m}from"../chunks/BctzLlvH.js";export{m as component};
