import{a as e}from"../chunks/Cf_h4OTa.js";export{e as component};
