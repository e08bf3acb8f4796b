import{_ as m}from"../chunks/B2ywlqVC.js";export{m as component};
