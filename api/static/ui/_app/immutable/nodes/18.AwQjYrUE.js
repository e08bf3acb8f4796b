import{_ as m}from"../chunks/Dd8EpqAO.js";export{m as component};
