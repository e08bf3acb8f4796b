<<<<<<<< HEAD:api/static/ui/_app/immutable/nodes/0.C4FDrSEm.js
import{aX as s}from"../chunks/CZaL0Cx_.js";const e=!0,o=!1,r=Object.freeze(Object.defineProperty({__proto__:null,prerender:e,ssr:o},Symbol.toStringTag,{value:"Module"}));export{s as component,r as universal};
========
import{aX as s}from"../chunks/kmzf9rIF.js";const e=!0,o=!1,r=Object.freeze(Object.defineProperty({__proto__:null,prerender:e,ssr:o},Symbol.toStringTag,{value:"Module"}));export{s as component,r as universal};
>>>>>>>> main:api/static/ui/_app/immutable/nodes/0.BZSfUU4i.js
