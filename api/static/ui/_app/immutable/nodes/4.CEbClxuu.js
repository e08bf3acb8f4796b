import{a as e}from"../chunks/XBagdWiK.js";export{e as component};
