import{a as e}from"../chunks/2Iq6k_vf.js";export{e as component};
