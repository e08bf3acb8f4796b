import{a as e}from"../chunks/_qSmbKUv.js";export{e as component};
