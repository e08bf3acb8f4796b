import{_ as m}from"../chunks/BvLUZESg.js";export{m as component};
