import{a as e}from"../chunks/BtIvSZLW.js";export{e as component};
