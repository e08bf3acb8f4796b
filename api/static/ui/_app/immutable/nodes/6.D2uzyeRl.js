import{_ as m}from"../chunks/CZnYtXYw.js";export{m as component};
