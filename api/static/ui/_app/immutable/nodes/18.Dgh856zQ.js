import{_ as m}from"../chunks/2Iq6k_vf.js";export{m as component};
