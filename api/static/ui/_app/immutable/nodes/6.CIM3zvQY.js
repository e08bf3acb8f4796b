import{_ as m}from"../chunks/BlT1oAWM.js";export{m as component};
