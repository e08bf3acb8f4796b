import{_ as m}from"../chunks/B9BKz0Yi.js";export{m as component};
