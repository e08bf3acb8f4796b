import{_ as m}from"../chunks/BR2kOquN.js";export{m as component};
