import{_ as m}from"../chunks/DIqmcmH1.js";export{m as component};
