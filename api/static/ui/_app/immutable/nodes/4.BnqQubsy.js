import{a as e}from"../chunks/BctzLlvH.js";export{e as component};
