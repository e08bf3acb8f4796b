import{_ as m}from"../chunks/DE65is1j.js";export{m as component};
