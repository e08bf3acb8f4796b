import{a as e}from"../chunks/B2ywlqVC.js";export{e as component};
