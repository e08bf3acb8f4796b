import{_ as m}from"../chunks/B8Q1n6jh.js";export{m as component};
