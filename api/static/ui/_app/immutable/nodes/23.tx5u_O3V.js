import{_ as m}from"../chunks/BtIvSZLW.js";export{m as component};
