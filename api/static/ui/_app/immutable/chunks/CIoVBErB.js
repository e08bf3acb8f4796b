<<<<<<<< HEAD:api/static/ui/_app/immutable/chunks/CIoVBErB.js
import{aJ as o,d as s,a_ as u,S as i,g as c,s as l}from"./DrVBLh2A.js";import{w as n}from"./DJBVNBpF.js";function m(t){let e=l(void 0);return o(({to:a})=>{s(e,a?.url.searchParams.get(t)||void 0,!0)}),{get value(){return c(e)},set value(a){s(e,a,!0);const r=n(location.search,t,a);u(`${location.pathname}${r}${location.hash}`,i.state)}}}export{m as u};
========
import{aJ as o,d as s,a_ as u,S as i,g as c,s as l}from"./CBIqDuos.js";import{w as n}from"./2eHkJbGk.js";function m(t){let e=l(void 0);return o(({to:a})=>{s(e,a?.url.searchParams.get(t)||void 0,!0)}),{get value(){return c(e)},set value(a){s(e,a,!0);const r=n(location.search,t,a);u(`${location.pathname}${r}${location.hash}`,i.state)}}}export{m as u};
>>>>>>>> owner:api/static/ui/_app/immutable/chunks/bnbubM9O.js
