<<<<<<<< HEAD:api/static/ui/_app/immutable/nodes/0.C12pcssC.js
import{aX as s}from"../chunks/BSDQB-QA.js";const e=!0,o=!1,r=Object.freeze(Object.defineProperty({__proto__:null,prerender:e,ssr:o},Symbol.toStringTag,{value:"Module"}));export{s as component,r as universal};
========
import{aX as s}from"../chunks/OWOr5hB1.js";const e=!0,o=!1,r=Object.freeze(Object.defineProperty({__proto__:null,prerender:e,ssr:o},Symbol.toStringTag,{value:"Module"}));export{s as component,r as universal};
>>>>>>>> tokens:api/static/ui/_app/immutable/nodes/0.DmOsDVUr.js
