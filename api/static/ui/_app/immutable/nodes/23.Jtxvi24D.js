import{_ as m}from"../chunks/_qSmbKUv.js";export{m as component};
