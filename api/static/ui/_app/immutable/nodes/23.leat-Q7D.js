import{_ as m}from"../chunks/Df9VqVLc.js";export{m as component};
