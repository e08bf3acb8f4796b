import{_ as m}from"../chunks/Cf_h4OTa.js";export{m as component};
