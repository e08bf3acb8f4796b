import{_ as m}from"../chunks/BRz4Uvdh.js";export{m as component};
