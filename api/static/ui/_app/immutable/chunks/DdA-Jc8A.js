<<<<<<<< HEAD:api/static/ui/_app/immutable/chunks/BKFMtZ6m.js
import{aL as o,d as s,b1 as u,U as i,g as c,s as l}from"./DPBO4IZO.js";import{w as n}from"./CHQTn9ax.js";function m(t){let e=l(void 0);return o(({to:a})=>{s(e,a?.url.searchParams.get(t)||void 0,!0)}),{get value(){return c(e)},set value(a){s(e,a,!0);const r=n(location.search,t,a);u(`${location.pathname}${r}${location.hash}`,i.state)}}}export{m as u};
========
import{aL as o,d as s,b1 as u,T as i,g as c,s as l}from"./psSXX955.js";import{w as n}from"./IXHqaJk0.js";function m(t){let e=l(void 0);return o(({to:a})=>{s(e,a?.url.searchParams.get(t)||void 0,!0)}),{get value(){return c(e)},set value(a){s(e,a,!0);const r=n(location.search,t,a);u(`${location.pathname}${r}${location.hash}`,i.state)}}}export{m as u};
>>>>>>>> apipage:api/static/ui/_app/immutable/chunks/DdA-Jc8A.js
