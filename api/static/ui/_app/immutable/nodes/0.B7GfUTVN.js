<<<<<<<< HEAD:api/static/ui/_app/immutable/nodes/0.Dz8qIAYS.js
import{b0 as s}from"../chunks/DPBO4IZO.js";const e=!0,o=!1,r=Object.freeze(Object.defineProperty({__proto__:null,prerender:e,ssr:o},Symbol.toStringTag,{value:"Module"}));export{s as component,r as universal};
========
import{b0 as s}from"../chunks/psSXX955.js";const e=!0,o=!1,r=Object.freeze(Object.defineProperty({__proto__:null,prerender:e,ssr:o},Symbol.toStringTag,{value:"Module"}));export{s as component,r as universal};
>>>>>>>> apipage:api/static/ui/_app/immutable/nodes/0.B7GfUTVN.js
