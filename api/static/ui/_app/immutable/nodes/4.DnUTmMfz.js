import{a as e}from"../chunks/DIqmcmH1.js";export{e as component};
