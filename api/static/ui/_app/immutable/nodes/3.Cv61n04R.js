import{_ as m}from"../chunks/XBagdWiK.js";export{m as component};
