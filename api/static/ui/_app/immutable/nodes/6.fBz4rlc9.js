import{_ as m}from"../chunks/BXxekPIO.js";export{m as component};
