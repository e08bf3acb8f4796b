<<<<<<<< HEAD:api/static/ui/_app/immutable/nodes/0.DNAOzH6b.js
import{aZ as s}from"../chunks/lliy16Dm.js";const e=!0,o=!1,r=Object.freeze(Object.defineProperty({__proto__:null,prerender:e,ssr:o},Symbol.toStringTag,{value:"Module"}));export{s as component,r as universal};
========
import{aX as s}from"../chunks/XA_lakRO.js";const e=!0,o=!1,r=Object.freeze(Object.defineProperty({__proto__:null,prerender:e,ssr:o},Symbol.toStringTag,{value:"Module"}));export{s as component,r as universal};
>>>>>>>> prompts:api/static/ui/_app/immutable/nodes/0.Bm4fvvm6.js
