<<<<<<<< HEAD:api/static/ui/_app/immutable/nodes/0.BYBTF2jJ.js
import{aZ as s}from"../chunks/DrVBLh2A.js";const e=!0,o=!1,r=Object.freeze(Object.defineProperty({__proto__:null,prerender:e,ssr:o},Symbol.toStringTag,{value:"Module"}));export{s as component,r as universal};
========
import{aZ as s}from"../chunks/CBIqDuos.js";const e=!0,o=!1,r=Object.freeze(Object.defineProperty({__proto__:null,prerender:e,ssr:o},Symbol.toStringTag,{value:"Module"}));export{s as component,r as universal};
>>>>>>>> owner:api/static/ui/_app/immutable/nodes/0.E-fcZ6p7.js
