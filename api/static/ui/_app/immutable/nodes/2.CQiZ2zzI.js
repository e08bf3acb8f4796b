import{_ as m}from"../chunks/BKP5_9Uc.js";export{m as component};
